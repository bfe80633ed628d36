import cors from 'cors'

const origin = '*'
const exposedHeaders = [
  'Content-Encoding',
  'ETag',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
]

/** Pages of any origin may read; writing from a page would need its key there, where its visitors find it. */
export const corsForReads = cors({
  origin,
  methods: ['GET', 'HEAD'],
  // No Content-Type: browsers let every page POST (Fetch, "CORS-safelisted method"), but then not as JSON.
  // Prefer is for the mock; the catalogue passes it over.
  allowedHeaders: ['Authorization', 'If-None-Match', 'Prefer', 'X-Request-Id'],
  exposedHeaders,
  maxAge: 86_400,
  preflightContinue: true,
})

/** What makes an answer readable that does not come from Express. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(','),
}
