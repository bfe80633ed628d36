import type { IncomingMessage, RequestListener } from 'node:http'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import proxyaddr from 'proxy-addr'
import type { Config } from '../config.ts'

type TrustProxy = Config['trustProxy']

/**
 * Tells the network that a request comes from, past the proxies that are trusted: an IPv4 address, or the 56 bits of an IPv6
 * one that a household or a machine is given whole (RIPE-690, section 4.2).
 */
export function createNetworkResolver(trustProxy: TrustProxy): (request: IncomingMessage) => string {
  const trust =
    typeof trustProxy === 'number'
      ? (_address: string, index: number) => index < trustProxy
      : proxyaddr.compile([...trustProxy])
  // Who asks again is not looked at again: that takes a quarter of the time of a cached response.
  const networks = new LRUCache<string, string>({ max: maxCached, memoMethod: networkOf })
  return (request) => {
    const address = proxyaddr(request, trust) ?? ''
    return address.length > maxForwardedLength ? networkOf(address) : networks.memo(address)
  }
}

/** Addresses of which the network is kept. */
const maxCached = 10_000

/** Some proxies tell the port, too; IPv6 then stands in brackets. */
const withPort = /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:]*)):\d+$/

/** Characters: no address is longer. */
const maxAddressLength = 45
/** The same in brackets, with a port. */
const maxForwardedLength = maxAddressLength + '[]:65535'.length

/** What is no address is taken as it is: a proxy that is trusted named it. */
function networkOf(forwarded: string): string {
  const { bracketed, plain } = withPort.exec(forwarded)?.groups ?? {}
  const address = bracketed ?? plain ?? forwarded
  if (!ipaddr.isValid(address)) return address.slice(0, maxAddressLength)
  // One that is mapped into IPv6 becomes IPv4.
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, 7).join(':')
}

/** Warns, once, where a proxy seems to stand before a server that trusts none: then all who come through it have one address. */
export function warnAboutProxy(listener: RequestListener, trustProxy: TrustProxy, logger: Logger): RequestListener {
  let isSilent = trustProxy !== 0
  return (request, response) => {
    if (!isSilent && request.headers['x-forwarded-for'] !== undefined) {
      isSilent = true
      logger.warn(
        'X-Forwarded-For came, and TRUST_PROXY is not set: limits by address take the proxy for the client; see README',
      )
    }
    listener(request, response)
  }
}
