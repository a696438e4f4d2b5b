/** A command: its arguments, its options, and `Command` itself. */
type Run = (...args: never[]) => Promise<void>

/** Returns an action that imports a command's module when the command runs, so that each loads only what it needs. */
export function lazily<Name extends string>(load: () => Promise<NoInfer<Readonly<Record<Name, Run>>>>, name: Name) {
  return async (...args: readonly unknown[]): Promise<void> => {
    const module: Readonly<Record<Name, Run>> = await load()
    await module[name](...(args as never[])) // as the command declares them
  }
}
