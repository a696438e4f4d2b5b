/** Reads the content of messages and of tool results: a text, or parts of text, images, files and audio. */
import type { Json } from '../../../lib/json.ts'
import { isAbsent, objectAt, refuseType, stringAt } from '../../openai-chat/client/checks.ts'

/** A content part of a chat completion. */
export interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

const TYPES: ReadonlySet<string> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
  'refusal',
  'input_image',
  'input_file',
  'input_audio',
])

/** Called for a part without a translation, with its path. */
export type NoteUnknown = (part: Json, path: string) => void

/** Holds the place of a file that the provider has or fetches: its size is not known. */
const FILE_ELSEWHERE: Part = { type: 'file', file: { file_id: 'file_of_the_provider' } }

/** @returns a text for a text, and for a single part of text. @throws GatewayError for the first fault. */
export function readContent(content: unknown, path: string, noteUnknown: NoteUnknown): string | readonly Part[] {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) refuseType(content, path, 'a string or an array of content parts')
  const parts: Part[] = []
  for (let at = 0; at < content.length; at++) {
    const partPath = `${path}[${at}]`
    const part = objectAt(content[at], partPath)
    const elsewhere = fileElsewhere(part)
    if (elsewhere !== undefined) {
      noteUnknown(part, `${partPath}.${elsewhere}`)
      parts.push(FILE_ELSEWHERE)
    } else if (TYPES.has(stringAt(part['type'], `${partPath}.type`))) parts.push(readPart(part, partPath))
    else noteUnknown(part, `${partPath}.type`)
  }
  if (parts.length === 0 && content.length > 0) return ''
  const [only] = parts
  return parts.length === 1 && typeof only?.['text'] === 'string' ? only['text'] : parts
}

function readPart(part: Json, path: string): Part {
  switch (part['type']) {
    case 'refusal':
      return { type: 'refusal', refusal: stringAt(part['refusal'], `${path}.refusal`) }
    case 'input_image':
      return readImage(part, path)
    case 'input_file':
      return readFile(part, path)
    case 'input_audio':
      return { type: 'input_audio', input_audio: part['input_audio'] }
    default:
      return { type: 'text', text: stringAt(part['text'], `${path}.text`) }
  }
}

/** The field that refers to a file or an image which the request does not contain; undefined: it contains it. */
function fileElsewhere({
  type,
  image_url: image,
  file_data: data,
  file_url: url,
  file_id: id,
}: Json): string | undefined {
  if (type === 'input_image') return isAbsent(image) && !isAbsent(id) ? 'file_id' : undefined
  if (type !== 'input_file' || !isAbsent(data)) return undefined
  if (!isAbsent(url)) return 'file_url'
  return isAbsent(id) ? undefined : 'file_id'
}

function readImage({ image_url: url, detail }: Json, path: string): Part {
  const shown = isAbsent(detail) ? {} : { detail: stringAt(detail, `${path}.detail`) }
  return { type: 'image_url', image_url: { url: stringAt(url, `${path}.image_url`), ...shown } }
}

function readFile({ file_data: data, filename }: Json, path: string): Part {
  const text = stringAt(data, `${path}.file_data`)
  const named = isAbsent(filename) ? {} : { filename: stringAt(filename, `${path}.filename`) }
  return {
    type: 'file',
    file: { ...named, file_data: text.startsWith('data:') ? text : `data:application/pdf;base64,${text}` },
  }
}
