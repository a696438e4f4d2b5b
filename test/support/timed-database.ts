/** A database whose clock says what a test wants: leases and due times that do not depend on how fast the machine is. */
import { type KyselyPlugin, OperationNodeTransformer, type RawNode, ValueNode } from 'kysely'
import type { OpenedDatabase } from '../../src/db/database.ts'

/** @param now Unix milliseconds, in place of `databaseNow`. */
export function timedDatabase(database: OpenedDatabase, now: () => number): OpenedDatabase {
  const transformer = new (class extends OperationNodeTransformer {
    protected override transformRaw(node: RawNode): RawNode {
      const isNow = node.sqlFragments.length === 1 && node.sqlFragments[0] === 'turnpike_now()'
      if (!isNow) return super.transformRaw(node)
      return { ...node, sqlFragments: ['cast(', ' as bigint)'], parameters: [ValueNode.create(now())] }
    }
  })()
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => transformer.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  }
  return { ...database, db: database.db.withPlugin(plugin) }
}
