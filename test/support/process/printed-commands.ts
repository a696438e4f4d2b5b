/** Commands of `turnpike` in the texts that a program prints, as they stand in its sources. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')

export interface Printed {
  readonly where: string
  readonly command: string
}

/** Quoted texts that begin with a command, in files of the project. Comments are no output. */
export function printedIn(...patterns: readonly string[]): readonly Printed[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
    .filter((file) => !/\.test\.tsx?$|schema\.d\.ts$/.test(file))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line))
        .flatMap((line) =>
          [...plain(line).matchAll(/(['"`])(?:echo [^|]*\| )?turnpike ([a-z](?:(?!\1).)*)\1/g)].map(
            ([, , command = '']) => ({ where: file, command }),
          ),
        ),
    )
}

/** What stands for IDs and the like, so that each option accepts it. */
function plain(line: string): string {
  return line
    .replaceAll('\\`', '`')
    .replaceAll(/\$\{agentId\}/g, 'agt_1')
    .replaceAll(/\$\{(?:url|location\.origin)\}/g, 'https://ai.example.com')
    .replaceAll('https://…', 'https://ai.example.com')
    .replaceAll('deliveries ID', 'deliveries whk_1')
    .replaceAll(/(?<= |\.)\$\{\w+\}/g, 'name')
    .replaceAll(/\$\{name === [^}]*`\}/g, '')
    .replaceAll(/\$\{\w+\}/g, '')
}
