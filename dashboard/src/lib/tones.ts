/** The meaning of a color, the same in badges and in charts. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral'

/** Of requests, by their status. */
export const COMPLETION_TONES = {
  completed: 'good',
  failed: 'bad',
  client_left: 'neutral',
  incomplete: 'warn',
} as const satisfies Readonly<Record<string, Tone>>
