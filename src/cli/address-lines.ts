import stringWidth from 'string-width'
import { otherHostOf, shortenAddresses } from '../moderation/describe.ts'
import { detailWidth, truncate } from './output.ts'

/** Lines below a table's row, which have the other form of an internationalized host whole. */

export function addressLine(field: string, address: string): string {
  const [label, suffix] = [`${field}: `, otherHostOf(address)]
  return label + truncate(address, roomBetween(label, suffix)) + suffix
}

/** A line for each address, because a swapped letter is hard to see in a part of one. */
export function changedAddressLines(field: string, before: string, after: string): string[] {
  const label = `${field}: `
  const [oldSuffix, suffix] = [otherHostOf(before), otherHostOf(after)]
  const width = Math.min(roomBetween(label, oldSuffix), roomBetween(label, suffix))
  const [old, now] = shortenAddresses(before, after, width, stringWidth)
  return [label + old + oldSuffix, `→ ${now}${suffix}`]
}

/** Columns for an address whose host has another form behind it. */
const roomBetween = (label: string, suffix: string) =>
  Math.max(20, detailWidth() - stringWidth(label + suffix))
