/** `GET /admin/config`: the settings of this process and where they come from, for operators, without secrets. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { textOrNull } from '../../http/wire-fields.ts'

interface Setting {
  readonly path: string
  readonly value: unknown
  readonly origin: string
}

export interface ConfigDeps {
  /** The settings in force in this process. */
  readonly settings: () => { readonly file: string | undefined; readonly settings: readonly Setting[] }
}

const ConfigView = Type.Object({
  object: Type.Literal('config'),
  file: textOrNull('Path of the configuration file. Null: none was read.'),
  settings: Type.Array(
    Type.Object({
      path: Type.String({ description: 'Such as server.port.' }),
      value: Type.Unknown({ description: '(secret) for secrets.' }),
      origin: Type.String({ description: 'Position in the file, variable or flag; default; database.' }),
    }),
  ),
})

const schema = {
  summary: 'Get the configuration in force',
  description: 'Returns the settings of the process that answers, with the source of each, without secrets.',
  tags: ['Operators'],
  response: { 200: ConfigView },
}

export function configRoutes({ settings }: ConfigDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/config', { config: { scope: 'operator' }, schema }, async () => {
      const { file, settings: all } = settings()
      return { object: 'config' as const, file: file ?? null, settings: [...all] }
    })
  }
}
