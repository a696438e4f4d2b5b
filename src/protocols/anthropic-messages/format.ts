/** `response_format`: by the API's own means where a model has them, else by a tool that stands for the answer. */
import type { ResponseFormat } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ModelTraits } from './models.ts'
import { fitSchema } from './schema.ts'
import { ANSWER_TOOL, type Block } from './wire.ts'

const JSON_INSTRUCTION =
  'Answer with exactly one JSON object and nothing else: no text around it, no explanation, no code fence.'

/** At most one of them is set. */
export interface AnswerFormat {
  /** `output_config.format`. */
  readonly outputFormat?: Block
  /** To be called in place of an answer; its input is the answer. */
  readonly answerTool?: Block
  /** Said to the model. */
  readonly instruction?: string
}

/** @throws GatewayError `unsupported_parameter` for a schema that this model cannot be held to. */
export function planFormat(
  format: ResponseFormat | undefined,
  traits: ModelTraits,
  warnings: Set<string>,
): AnswerFormat {
  if (format === undefined || format.type === 'text') return {}
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined
  if (format.type === 'json_object' || schema === undefined) {
    warnings.add('response_format')
    return { instruction: JSON_INSTRUCTION }
  }
  const fitted = traits.structuredOutput ? fitSchema(schema) : undefined
  if (fitted !== undefined) {
    if (fitted.isBent) warnings.add('response_format')
    return { outputFormat: { type: 'json_schema', schema: fitted.schema } }
  }
  if (!traits.forcedTools || !describesObject(schema)) throw unsayable()
  return { answerTool: renderAnswerTool(schema, format.json_schema.description) }
}

function renderAnswerTool(schema: Json, description: string | undefined): Block {
  const purpose = 'Gives the whole answer. Call it exactly once, and say nothing beside it.'
  return {
    name: ANSWER_TOOL,
    description: description === undefined ? purpose : `${purpose} ${description}`,
    input_schema: { ...schema, type: 'object' },
  }
}

/** The input of a tool is an object, so an answer given as one must be too. */
function describesObject({ type, properties, anyOf, oneOf, allOf, $ref }: Json): boolean {
  if (type !== undefined) return type === 'object'
  return isRecord(properties) || (anyOf ?? oneOf ?? allOf ?? $ref) === undefined
}

function unsayable(): GatewayError {
  const message =
    "The provider of this model cannot hold an answer to this 'response_format': its schema is recursive, open, or of another kind that it does not take."
  return new GatewayError('unsupported_parameter', message, { param: 'response_format' })
}
