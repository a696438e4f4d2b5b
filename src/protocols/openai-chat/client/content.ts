/** The parts that a message's content may be made of, by role. */
import type { ContentPart, Role } from '../../../domain/chat.ts'
import { isAbsent, type JsonObject, objectAt, oneOf, refuse, stringAt } from './checks.ts'

type PartType = ContentPart['type']

const PARTS_OF_ROLE: Readonly<Record<Role, readonly PartType[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text', 'image_url', 'file'],
}
const CHECKS: Readonly<Record<PartType, (part: JsonObject, place: string) => void>> = {
  text: (part, place) => void stringAt(part['text'], `${place}.text`),
  refusal: (part, place) => void stringAt(part['refusal'], `${place}.refusal`),
  image_url: checkImage,
  input_audio: checkAudio,
  file: checkFile,
}

/** @param place The path of the content itself. */
export function checkContentParts(parts: readonly unknown[], place: string, role: Role): void {
  for (let at = 0; at < parts.length; at++) {
    const partPlace = `${place}[${at}]`
    const part = objectAt(parts[at], partPlace)
    CHECKS[oneOf(part['type'], `${partPlace}.type`, PARTS_OF_ROLE[role])](part, partPlace)
  }
}

function checkImage(part: JsonObject, place: string): void {
  const image = objectAt(part['image_url'], `${place}.image_url`)
  const param = `${place}.image_url.url`
  const url = stringAt(image['url'], param)
  if (!isDataUrl(url) && !isHttpsUrl(url))
    refuse('invalid_value', param, `\`${param}\` must be an https or a data URL.`)
  if (!isAbsent(image['detail']))
    oneOf(image['detail'], `${place}.image_url.detail`, ['auto', 'low', 'high', 'original'])
}

function checkAudio(part: JsonObject, place: string): void {
  const audio = objectAt(part['input_audio'], `${place}.input_audio`)
  stringAt(audio['data'], `${place}.input_audio.data`)
  stringAt(audio['format'], `${place}.input_audio.format`)
}

function checkFile(part: JsonObject, place: string): void {
  const param = `${place}.file`
  const file = objectAt(part['file'], param)
  const { file_data: data, file_id: id, filename } = file
  if (!isAbsent(filename)) stringAt(filename, `${param}.filename`)
  if (!isAbsent(id)) stringAt(id, `${param}.file_id`)
  if (isAbsent(data)) {
    if (isAbsent(id)) refuse('missing_field', `${param}.file_data`, `\`${param}\` needs \`file_data\` or \`file_id\`.`)
  } else if (!isDataUrl(stringAt(data, `${param}.file_data`))) {
    refuse('invalid_value', `${param}.file_data`, `\`${param}.file_data\` must be a data URL.`)
  }
}

/** RFC 2397, with its media type; the data itself, which may be megabytes, is not looked at. */
function isDataUrl(text: string): boolean {
  return /^data:[\w.+-]+\/[\w.+-]+(;[\w.+-]+(=[^;,]*)?)*,/i.test(text.slice(0, 256))
}

function isHttpsUrl(text: string): boolean {
  return /^https:\/\//i.test(text) && URL.canParse(text)
}
