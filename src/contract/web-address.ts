import { domainToASCII, domainToUnicode } from 'node:url'

/** Addresses of websites, which owners write and moderators judge. Nothing here opens them. */

/**
 * The problem of an address by the rules of the document's introduction; undefined if there is none.
 * Says more than the document's pattern, which most of these addresses do not match either.
 */
export function addressProblem(address: string): string | undefined {
  const authority = /^https:\/\/([^/?#\\]*)/.exec(address)?.[1]
  if (authority === undefined)
    return 'must begin with "https://"; leave it out if there is no such address'
  if (address.includes('\\')) return 'must not have a backslash'
  if (authority.includes('@')) return 'must not have a user name or password'
  const host = authority.replace(/:[^:\]]*$/, '')
  const asciiHost = URL.parse(address)?.hostname ?? ''
  if (host.startsWith('[') || /^[\d.]+$/.test(asciiHost))
    return 'must have the name of a host, not an IP address'
  if (asciiHost !== '' && /^[^.]+$/.test(host)) return 'must have a host with a dot: example.org'
  const isNamed = /^[\p{L}\p{M}\p{N}._-]+$/u.test(host) && /^[\w-]+(\.[\w-]+)+$/.test(asciiHost)
  return isNamed ? undefined : 'must have a valid host: example.org'
}

/** `rest` is the port, the path and what follows it. */
export type AddressParts = { scheme: string; host: string; rest: string; otherHost: string | null }

/**
 * An address in parts, to show its host. The host is as sent; if it is internationalized,
 * `otherHost` is its ASCII form, or its Unicode form if it was sent in ASCII. Undefined if the
 * address is not valid, as one accepted under older rules may be.
 */
export function addressParts(address: string): AddressParts | undefined {
  if (addressProblem(address) !== undefined) return undefined
  const [, scheme = '', host = '', rest = ''] = /^(https:\/\/)([^/?#:]*)(.*)$/s.exec(address) ?? []
  const ascii = domainToASCII(host)
  const otherHost = ascii === host.toLowerCase() ? domainToUnicode(host) : ascii
  return { scheme, host, rest, otherHost: otherHost === host.toLowerCase() ? null : otherHost }
}

/** Whether browsers open the same host with both. */
export const haveSameHost = (address: string, other: string) => hostOf(address) === hostOf(other)

const hostOf = (address: string) => URL.parse(address)?.hostname ?? address
