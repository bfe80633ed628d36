import { html } from '../../html.ts'
import { type FormFields, fieldsOf } from '../fields.ts'
import type { Links } from '../links.ts'
import { layout } from './layout.ts'
import { alert } from './parts.ts'

/** The form for the sign-in key. `next` is the address to open after it. */
export const signInPage = (links: Links, next: string, problem?: string) =>
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

/** Asks for the key to go on with a form that was sent without a valid session. */
export const signInToGoOnPage = (
  links: Links,
  { action, fields }: { action: string; fields: FormFields },
  problem: string,
) =>
  layout(
    { links, moderator: undefined },
    'Sign in to go on',
    html`<h1>Sign in to go on</h1>
${alert(problem)}
<p>Nothing was done yet. What you typed is kept, and is sent when you sign in.</p>
<form method="post" action="${action}" class="card sign-in">
  ${keyField}
  ${Object.keys(fields).map(
    (name) =>
      name !== 'key' &&
      fieldsOf(fields, name).map(
        (value) => html`<input type="hidden" name="${name}" value="${value}">`,
      ),
  )}
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
