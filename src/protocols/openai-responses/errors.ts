/** Classifies failures of a started response by its own codes, else as in chat completions. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { failureOf } from '../openai-chat/errors.ts'
import { type FailureKind, ProviderError } from '../protocol.ts'

/** Codes of `response.error` that chat completions lack. */
const CODES: Readonly<Record<string, FailureKind>> = {
  invalid_prompt: 'content_filter',
  bio_policy: 'content_filter',
  misalignment_policy_violation: 'content_filter',
  image_content_policy_violation: 'content_filter',
  invalid_image: 'rejected',
  invalid_image_format: 'rejected',
  invalid_base64_image: 'rejected',
  invalid_image_url: 'rejected',
  invalid_image_mode: 'rejected',
  image_too_large: 'rejected',
  image_too_small: 'rejected',
  image_parse_error: 'rejected',
  image_file_too_large: 'rejected',
  unsupported_image_media_type: 'rejected',
  empty_image_file: 'rejected',
  failed_to_download_image: 'rejected',
  image_file_not_found: 'rejected',
}

/** @param body An object with `error`, or an `error` event, which some hosts send without that object. */
export function failureIn(body: Json): ProviderError {
  const error = isRecord(body['error']) ? body['error'] : body
  const failure = failureOf({ error }, 200)
  const code = textOf(error['code'])
  const kind = Object.hasOwn(CODES, code) ? CODES[code] : undefined
  return new ProviderError(kind === undefined ? failure : { ...failure, kind })
}
