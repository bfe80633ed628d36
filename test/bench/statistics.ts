/** The value below which so great a part of the values is: of half of them, the median. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

/** Round by round, so that what the machine did in a round is in both. */
export const ratios = (values: readonly number[], others: readonly number[]) =>
  values.map((value, round) => value / (others[round] ?? Number.NaN))
