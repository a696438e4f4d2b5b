/**
 * Validates requests against the schemas of their routes. Each schema is compiled, and the compiler loaded, by the first
 * request that needs it: compiling the schemas of all routes was a tenth of the CPU time of a start.
 */
import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { FastifyRequest, FastifyServerOptions } from 'fastify'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>
type Compile = ReturnType<BuildCompilerFromPool>
type Validate = ReturnType<Compile>

/**
 * `verbose`: errors then carry the schema, whose example is shown. `validateSchema`: a test checks the schemas; here the
 * compilation of their own schema would cost the first request 45 ms of CPU time.
 */
export const VALIDATION = {
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: true,
  allErrors: false,
  verbose: true,
  validateSchema: false,
} as const

export const schemaController: SchemaController = {
  compilersFactory: {
    buildValidator: lazyValidators,
    // Compiled serialisers cost more at start than they ever save.
    buildSerializer: () => () => JSON.stringify,
  },
}

/** @param from The schemas that others refer to, and the options of Fastify. */
function lazyValidators(...from: Parameters<BuildCompilerFromPool>): Compile {
  let compile: Compile | undefined
  return (route) =>
    lazily(() => {
      compile ??= loadCompiler()(...from)
      return compile(route)
    })
}

/** Fastify's own. It is CommonJS, and a validator cannot wait for it. */
function loadCompiler(): BuildCompilerFromPool {
  const require = createRequire(import.meta.url)
  const { AjvCompiler }: typeof import('@fastify/ajv-compiler') = require('@fastify/ajv-compiler')
  return AjvCompiler()
}

/** Like the function that `compile` returns: after a call it has the errors as a property. */
function lazily(compile: () => Validate): Validate {
  let compiled: Validate | undefined
  const validate = (data: unknown, context?: Parameters<Validate>[1]) => {
    compiled ??= compile()
    const result = compiled(data, context)
    validate.errors = compiled.errors
    return result
  }
  validate.errors = undefined as Validate['errors']
  // With this property Fastify says where the data is, so that a default can take its place.
  validate.schemaEnv = true
  return validate as unknown as Validate
}

/** A hook before the validation: a request without a body is one without fields. */
export async function withoutBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
}
