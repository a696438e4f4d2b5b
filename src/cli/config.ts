/** Throws `ConfigError` with every problem of the file, as `serve` would. */
export async function configCheck(file: string): Promise<void> {
  const { loadCliConfig } = await import('./context.ts')
  await loadCliConfig({ config: file })
  process.stdout.write(`${file}: ok\n`)
}

export async function configSchema(): Promise<void> {
  const { configJsonSchema } = await import('../config/json-schema.ts')
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
}
