const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a whole number with a unit: `90s`, `15m`, `12h`, `30d`. Undefined for anything else, and for zero. */
export function parseDurationMs(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text.trim()) ?? []
  const durationMs = Number(amount) * (UNIT_MS[unit] ?? 0)
  return durationMs > 0 ? durationMs : undefined
}
