/** The meaning of a color, the same in badges and in charts. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral'

/** Of requests, by their status. */
export const COMPLETION_TONES = {
  completed: 'good',
  failed: 'bad',
  client_left: 'neutral',
  incomplete: 'warn',
} as const satisfies Readonly<Record<string, Tone>>

/** Colors of series, `chart-1` and so on in `styles.css`: rows of eight, the first of which are the easiest to tell apart. */
export const CHART_COLORS = 24
