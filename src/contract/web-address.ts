import { domainToUnicode } from 'node:url'

/** Addresses of websites, which owners write and moderators judge. Nothing here opens them. */

/**
 * The part of the rule for addresses that an address breaks; undefined if it breaks none. The
 * document's introduction has the rule. `character-rules.ts` calls this for texts without white
 * space, control and bidirectional characters.
 */
export function addressProblem(address: string): string | undefined {
  const authority = /^https?:\/\/([^/?#\\]*)/i.exec(address)?.[1]
  if (authority === undefined)
    return 'must begin with "https://" or "http://"; leave it out if there is no such address'
  if (address.includes('\\')) return 'must not have a backslash'
  if (authority.includes('@')) return 'must not have a user name or password'
  if (authority.startsWith('[')) return isIpAddress
  const [host = '', ...ports] = authority.split(':')
  return hostProblem(host) ?? (ports.length > 0 ? portProblem(ports.join(':')) : undefined)
}

const isIpAddress = 'must have the name of a host, not an IP address'

/** Lengths in the ASCII form (RFC 1035, section 2.3.4; without the root's byte and the first length). */
const maxLabelLength = 63
const maxHostLength = 253

/** Code units of a host as sent. No host that is longer has so short an ASCII form. */
const maxSentHostLength = 1000

const isTooLong = `must have a host of at most ${maxHostLength} characters in its ASCII form`

function hostProblem(host: string): string | undefined {
  if (host === '') return 'must have a host: https://example.org/'
  if (host.includes('%')) return 'must not have a percent sign in its host'
  // Parsing a whole body takes 50 ms.
  if (host.length > maxSentHostLength) return isTooLong
  const ascii = URL.parse(`https://${host}/`)?.hostname
  // A host whose last label is a number is an IPv4 address, or none
  // (https://url.spec.whatwg.org/#ends-in-a-number-checker).
  if (ascii === undefined && /(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/i.test(host.normalize('NFKC')))
    return isIpAddress
  if ((ascii ?? host).split('.').some(encodesNothing))
    return 'must not have a label in its host that begins with "xn--" and encodes no text'
  if (ascii === undefined) return hasOtherCharacters
  if (/^[\d.]+$/.test(ascii)) return isIpAddress
  const labels = ascii.split('.')
  if (labels.length === 1) return 'must have a host with a dot: example.org'
  if (labels.at(-1) === '') return 'must not have a dot at the end of its host'
  if (labels.includes(''))
    return 'must not have an empty label in its host: two dots, or one in front'
  if (!labels.every((label) => /^[\w-]+$/.test(label))) return hasOtherCharacters
  if (labels.some(({ length }) => length > maxLabelLength))
    return `must not have a label of more than ${maxLabelLength} characters in the ASCII form of its host`
  return ascii.length > maxHostLength ? isTooLong : undefined
}

/** Of punycode, the URL parser checks only hosts with other characters than ASCII. */
const encodesNothing = (label: string) =>
  /^xn--/i.test(label) && /^xn--/i.test(domainToUnicode(label))

const hasOtherCharacters =
  'must have a host whose ASCII form has letters, digits, "-" and "_" between dots'

const portProblem = (port: string) =>
  /^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : 'must have a port from 1 to 65535, or no colon behind its host'
