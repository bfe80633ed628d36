import { expect, test } from 'vitest'
import { sessionCookie } from '../../src/moderation-page/sessions.ts'

/** Browsers send the cookies of a host to all its ports, so that a port is a part of the name. */

test.for([
  { page: 'http://moderation.test', name: 'moderation_session', path: '/' },
  { page: 'http://moderation.test:80', name: 'moderation_session', path: '/' },
  { page: 'http://localhost:3001', name: 'moderation_session_3001', path: '/' },
  { page: 'http://localhost:3001/mod', name: 'moderation_session_3001', path: '/mod' },
  { page: 'https://moderation.test', name: '__Host-moderation_session', path: '/' },
  { page: 'https://moderation.test:8443', name: '__Host-moderation_session_8443', path: '/' },
  // The prefix __Host- requires the path /.
  { page: 'https://moderation.test:8443/mod', name: 'moderation_session_8443', path: '/mod' },
])('at $page, the cookie is $name', ({ page, name, path }) => {
  const { protocol, pathname } = new URL(page)
  expect(sessionCookie(page, pathname.replace(/\/$/, ''))).toEqual({
    name,
    options: { path, httpOnly: true, sameSite: 'lax', secure: protocol === 'https:' },
  })
})
