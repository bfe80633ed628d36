import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** What \p means as a property of strings has no opposite: \P of it is no pattern, and its file no program any more. */
const ofStrings = /\\p\{(RGI_Emoji|Basic_Emoji|Emoji_Keycap)/

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'no-such-pattern', {
    shouldIgnore: ({ node }) =>
      node.type === 'RegExpLiteral' && ofStrings.test(node.pattern) ? 'its opposite is no pattern' : undefined,
  }),
]
