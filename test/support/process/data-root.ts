import { tmpdir } from 'node:os'

/** Where tests put databases and data directories: in memory, where `npm test` has found room for that. */
export const dataRoot: string = process.env['TURNPIKE_TEST_DATA'] ?? tmpdir()
