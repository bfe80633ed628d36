import { readFileSync } from 'node:fs'

/**
 * Converts the real listings and reviews of a directory (see PLAY_SAMPLE in ../README.md) into a
 * catalogue file: `node test/lab/listings/listing-lines.ts FOLDER > listings.ndjson`.
 */

type Listing = {
  appId: string
  title: string
  summary: string
  description: string
  genre: string
  genreId: string
  developer: string
  developerWebsite?: string
  version: string
  updated: number
  minInstalls: number
  score: number
}
type SampleReview = {
  appId: string
  reviewer: string
  score: number
  content: string | null
  at: string
}

export function listingLines(folder: string): object[] {
  const listings: Listing[] = JSON.parse(readFileSync(`${folder}/apps.json`, 'utf8'))
  const reviews: SampleReview[] = readFileSync(`${folder}/reviews.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const byApp = Map.groupBy(reviews, ({ appId }) => appId)
  return listings.map((listing) => lineOf(listing, byApp.get(listing.appId) ?? []))
}

function lineOf(listing: Listing, reviews: SampleReview[]): object {
  const updated = new Date(listing.updated * 1000).toISOString()
  return {
    name: listing.title,
    short_description: listing.summary,
    description: listing.description,
    version: listing.version,
    package_name: listing.appId,
    // The name of a genre is localized; its id is not.
    category: {
      slug: listing.genreId.toLowerCase().replaceAll('_', '-'),
      name: nameOf(listing.genreId),
    },
    developer_name: listing.developer,
    ...(listing.developerWebsite?.startsWith('https://') && {
      website_url: listing.developerWebsite,
    }),
    status: 'approved',
    total_downloads: listing.minInstalls,
    ...(reviews.length === 0 && { average_rating: Math.round(listing.score * 100) / 100 }),
    created_at: updated,
    approved_at: updated,
    reviews: reviews.map(({ reviewer, score, content, at }) => ({
      reviewer_name: reviewer,
      rating: score,
      comment: content ?? '',
      created_at: `${at.replace(' ', 'T')}Z`,
    })),
  }
}

const nameOf = (genreId: string) =>
  genreId
    .split('_')
    .map((word) => (word === 'AND' ? '&' : word.charAt(0) + word.slice(1).toLowerCase()))
    .join(' ')

const [folder] = import.meta.main ? process.argv.slice(2) : []
if (folder !== undefined) for (const line of listingLines(folder)) console.log(JSON.stringify(line))
