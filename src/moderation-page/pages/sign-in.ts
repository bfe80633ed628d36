import { type Html, html } from '../../http/html.ts'
import { alert } from '../parts/components.ts'
import { layout } from '../parts/layout.ts'
import type { Links } from '../parts/links.ts'

/** The form for the sign-in key. `next` is the address to open after it. */
export const signInPage = (links: Links, next: string, problem?: string): Html =>
  layout(
    { links, moderator: undefined },
    'Sign in',
    html`<h1>Sign in</h1>
${alert(problem)}
<form method="post" action="${links.signIn()}" class="card sign-in">
  ${keyField}
  <input type="hidden" name="next" value="${next}">
  <button class="primary">Sign in</button>
</form>
${howToGetAKey}`,
  )

/** A form that was sent without a valid session. `fields`: what it asks for, with repeated names. */
export type UnsentForm = { action: string; fields: [name: string, value: string][] }

/** Asks for the key to go on with a form. */
export const signInToGoOnPage = (
  links: Links,
  { action, fields }: UnsentForm,
  problem: string,
): Html =>
  layout(
    { links, moderator: undefined },
    'Sign in to go on',
    html`<h1>Sign in to go on</h1>
${alert(problem)}
<p>Nothing was done yet. What you typed is kept, and is sent when you sign in.</p>
<form method="post" action="${action}" class="card sign-in">
  ${keyField}
  ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
  <button class="primary">Sign in and go on</button>
</form>
${howToGetAKey}`,
  )

/** With a name for password managers. */
const keyField = html`<input autocomplete="username" value="moderator" hidden>
  <label>Sign-in key
    <input type="password" name="key" autocomplete="current-password" required autofocus>
  </label>`

const howToGetAKey = html`<p>No key, or an expired one? Ask the operators of this service for a new sign-in key in your name.</p>`
