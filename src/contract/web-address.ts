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
