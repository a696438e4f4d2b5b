/** `response_format` and `prediction`: what the answer shall look like. */
import type { ResponseFormat } from '../../../domain/chat.ts'
import {
  arrayAt,
  booleanAt,
  isAbsent,
  type JsonObject,
  nameAt,
  objectAt,
  oneOf,
  stringAt,
  withoutNulls,
} from './checks.ts'

const FORMATS = ['text', 'json_object', 'json_schema'] as const

/** A schema is data: its own keywords are not looked at. */
export function readResponseFormat(value: unknown, name: string): ResponseFormat {
  const format = objectAt(value, name)
  if (oneOf(format['type'], `${name}.type`, FORMATS) !== 'json_schema') return format as unknown as ResponseFormat
  const place = `${name}.json_schema`
  const described = objectAt(format['json_schema'], place)
  nameAt(described['name'], `${place}.name`)
  checkOptional(described, place, { description: stringAt, schema: objectAt, strict: booleanAt })
  const schema = withoutNulls(described, ['description', 'schema'])
  return (schema === described ? format : { ...format, json_schema: schema }) as unknown as ResponseFormat
}

/** The text the answer will mostly repeat. */
export function readPrediction(value: unknown, name: string): unknown {
  const prediction = objectAt(value, name)
  oneOf(prediction['type'], `${name}.type`, ['content'])
  const content = prediction['content']
  if (typeof content === 'string') return prediction
  arrayAt(content, `${name}.content`).forEach((part, at) => {
    const place = `${name}.content[${at}]`
    const text = objectAt(part, place)
    oneOf(text['type'], `${place}.type`, ['text'])
    stringAt(text['text'], `${place}.text`)
  })
  return prediction
}

/** Applies each check to the field of its name, unless that is absent. */
export function checkOptional(
  object: JsonObject,
  place: string,
  checks: Readonly<Record<string, (value: unknown, param: string) => unknown>>,
): void {
  for (const [name, check] of Object.entries(checks)) {
    if (!isAbsent(object[name])) check(object[name], `${place}.${name}`)
  }
}
