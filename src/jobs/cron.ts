/**
 * Times of the calendar as cron writes them: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday), in
 * UTC. A field is `*`, a number, a range, or a list of them, each with a step if wanted: `*\/15`, `1-5`, `0,30`, `8-18/2`.
 * As in cron, a day needs only one of its two fields when neither begins with `*`.
 */
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** February 29th is eight years away at most. */
const MAX_DAYS = 2_929

/** Unix milliseconds of the first time after one, which is never that one itself. */
export type Cron = (afterMs: number) => number

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
}

const FIELDS = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  { name: 'day of the week', min: 0, max: 7 },
] as const satisfies readonly Field[]

/** Throws what is wrong with it, also for a day that never comes. */
export function parseCron(text: string): Cron {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== FIELDS.length) throw new Error(`'${text}' is not a cron expression: it needs five fields.`)
  const numbers = FIELDS.map((field, index) => parseField(parts[index] ?? '', field))
  const [minutes = [], hours = [], ...days] = numbers
  const isDay = dayTest(days, [parts[2] ?? '', parts[4] ?? ''])
  const times = hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * MINUTE_MS))
  const next = (afterMs: number): number => {
    let day = Math.floor(afterMs / DAY_MS) * DAY_MS
    for (let days = 0; days <= MAX_DAYS; days++, day += DAY_MS) {
      const time = isDay(new Date(day)) ? times.find((each) => day + each > afterMs) : undefined
      if (time !== undefined) return day + time
    }
    throw new Error(`'${text}' never comes.`)
  }
  next(0)
  return next
}

function dayTest(numbers: readonly (readonly number[])[], texts: readonly string[]): (day: Date) => boolean {
  const [days, months, weekdays] = numbers.map((each) => new Set(each))
  const isEither = texts.every((text) => !text.startsWith('*'))
  return (day) => {
    if (months?.has(day.getUTCMonth() + 1) !== true) return false
    const isDate = days?.has(day.getUTCDate()) === true
    const isWeekday = weekdays?.has(day.getUTCDay()) === true
    return isEither ? isDate || isWeekday : isDate && isWeekday
  }
}

/** In ascending order; the week's 7 is there as 0. */
function parseField(text: string, field: Field): readonly number[] {
  const found = new Set(text.split(',').flatMap((part) => parsePart(part, field)))
  if (field.max === 7 && found.delete(7)) found.add(0)
  return [...found].sort((one, other) => one - other)
}

function parsePart(text: string, { name, min, max }: Field): readonly number[] {
  const [, range = '', first, last, stepText] = /^(\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(text) ?? []
  const step = stepText === undefined ? 1 : Number(stepText)
  const from = first === undefined ? min : Number(first)
  // '5/10' means from 5 on; '5' alone means 5.
  const upTo = last !== undefined ? Number(last) : first === undefined || stepText !== undefined ? max : from
  if (range === '' || step === 0 || from < min || upTo > max || from > upTo) {
    throw new Error(`'${text}' is not a ${name} of a cron expression (${min} to ${max}).`)
  }
  return Array.from({ length: Math.floor((upTo - from) / step) + 1 }, (_, index) => from + index * step)
}
