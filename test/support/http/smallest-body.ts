/** The smallest value that a JSON Schema admits: of an object what is required, of an enumeration the last. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
}

export function smallestBody(schema: object): unknown {
  const { type, enum: values, const: only, anyOf, ...rest } = schema as Schema
  if (only !== undefined) return only
  if (values !== undefined) return values.at(-1)
  if (anyOf?.[0] !== undefined) return smallestBody(anyOf[0])
  switch ([type].flat()[0]) {
    case 'object': {
      const names = rest.required ?? []
      return Object.fromEntries(names.map((name) => [name, smallestBody(rest.properties?.[name] ?? {})]))
    }
    case 'array':
      return Array.from({ length: rest.minItems ?? 0 }, () => smallestBody(rest.items ?? {}))
    case 'string':
      return 'x'.repeat(Math.max(1, rest.minLength ?? 1))
    case 'integer':
    case 'number':
      return rest.minimum ?? (rest.exclusiveMinimum === undefined ? 1 : rest.exclusiveMinimum + 1)
    case 'boolean':
      return false
    default:
      return null
  }
}
