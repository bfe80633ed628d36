import type { AppReview, NamedAppRow } from '../../catalogue/app-store.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount } from '../../util/text.ts'
import { moment, seenField } from './components.ts'
import { excerptOf } from './excerpts.ts'
import type { Links, QueueView } from './links.ts'

/** The reviews of an app, with a form to remove each; false if there are none. */

export type AppReviews = {
  /** The newest ones, or the only one that is shown, whole. */
  reviews: AppReview[]
  isReviewWhole: boolean
  /** The review that was not removed, and the reason that was typed. */
  removal?: { review: number; reason: string } | undefined
}

type ReviewPage = AppReviews & {
  app: Pick<NamedAppRow, 'id' | 'review_count'>
  history: readonly { id: number }[]
  queue?: { view: QueueView } | undefined
}

export function reviewList(links: Links, page: ReviewPage): Html | false {
  const { app, reviews, isReviewWhole, queue, removal } = page
  if (reviews.length === 0) return false
  return html`<section class="card">
${
  isReviewWhole
    ? html`<h2>Review ${reviews[0]?.id}</h2>
<p><a href="${links.app(app.id, queue?.view)}">Show the newest reviews</a></p>`
    : html`<h2>Newest reviews, of ${formatCount(app.review_count)}</h2>`
}
<ul class="reviews">${reviews.map((review) => {
    const { id, reviewer_name, rating, comment, created_at } = review
    const shown = isReviewWhole ? comment : excerptOf(comment)
    return html`
<li>
<p><span class="quiet"><bdi>${reviewer_name}</bdi>, ${rating} of 5, ${moment(created_at)}</span> <bdi${isReviewWhole && html` class="text"`}>${shown}</bdi>${shown !== comment && html` <a href="${links.app(app.id, queue?.view, { review: id })}">Show review ${id} whole</a>`}</p>
<details${removal?.review === id && html` open`}>
<summary>Remove<span class="hidden"> the review of ${reviewer_name}</span></summary>
<form method="post" action="${links.form('/removed-reviews', queue?.view)}">
<input type="hidden" name="app" value="${app.id}">
${seenField(page.history)}
<label class="reason"><span>Reason<span class="hidden"> for removing the review of ${reviewer_name}</span></span> <input name="reason" maxlength="1000" required value="${removal?.review === id && removal.reason}"></label>
<button name="review" value="${id}" class="reject">Remove</button>
</form>
</details>
</li>`
  })}
</ul>
</section>`
}
