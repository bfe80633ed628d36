import stringWidth from 'string-width'
import { addressParts } from '../contract/web-address.ts'
import { shortenAddress, shortenAddresses, shortenHost } from '../moderation/describe.ts'
import { detailWidth } from './output.ts'

/** Lines below a table's row, which have the other form of an internationalized host, too. */

export function addressLine(field: string, address: string): string {
  const label = `${field}: `
  const suffix = suffixOf(label, address)
  return label + shortenAddress(address, roomBetween(label, suffix), stringWidth) + suffix
}

/** A line for each address, because a swapped letter is hard to see in a part of one. */
export function changedAddressLines(field: string, before: string, after: string): string[] {
  const label = `${field}: `
  const [oldSuffix, suffix] = [suffixOf(label, before), suffixOf(label, after)]
  const width = Math.min(roomBetween(label, oldSuffix), roomBetween(label, suffix))
  const [old, now] = shortenAddresses(before, after, width, stringWidth)
  return [label + old + oldSuffix, `→ ${now}${suffix}`]
}

/** The other form of the host, which has half of the line or what the address leaves of it. */
function suffixOf(label: string, address: string): string {
  const other = addressParts(address)?.otherHost ?? null
  if (other === null) return ''
  const room = detailWidth() - stringWidth(`${label} ()`)
  const size = Math.max(Math.floor(room / 2), room - stringWidth(address))
  return ` (${shortenHost(other, size, stringWidth)})`
}

/** Columns for an address whose host has another form behind it. */
const roomBetween = (label: string, suffix: string) =>
  Math.max(20, detailWidth() - stringWidth(label + suffix))
