import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** Properties of strings cannot be negated: \P{RGI_Emoji} is a syntax error, and the whole file would not load. */
const ofStrings = /\\p\{(RGI_Emoji|Basic_Emoji|Emoji_Keycap)/

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'no-such-pattern', {
    shouldIgnore: ({ node }) =>
      node.type === 'RegExpLiteral' && ofStrings.test(node.pattern)
        ? 'its negation is a syntax error'
        : undefined,
  }),
]
