/** Headers that every response has, errors too. */

/**
 * Pages of any origin may read; to write, a page would need an API key that its visitors could see.
 */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'Content-Encoding,ETag,Link,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id',
}

/** Answers to a preflight request (Fetch, "CORS-preflight fetch"). */
export const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET,HEAD',
  // Browsers let any page POST ("CORS-safelisted method"), but not as JSON unless Content-Type or *
  // is listed here. Pages that are traced send the last four with each request (OpenTelemetry,
  // Sentry).
  'Access-Control-Allow-Headers':
    'Authorization,If-None-Match,X-Request-Id,traceparent,tracestate,baggage,sentry-trace',
  'Access-Control-Max-Age': '86400',
}

/** Security headers for JSON responses. The pages add more. */
export const securityHeaders = (baseUrl: string) => ({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  // RFC 6797, section 7.2: never over plain HTTP.
  ...(baseUrl.startsWith('https:') && {
    'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  }),
})
