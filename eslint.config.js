import neostandard, { plugins } from 'neostandard'

export default [
  ...neostandard({
    ts: true,
    ignores: ['dist', 'build', '.tap', 'node_modules', 'bench/build', 'bench/results']
  }),
  {
    plugins: { '@stylistic': plugins['@stylistic'] },
    rules: {
      '@stylistic/arrow-parens': ['error', 'as-needed'],
      '@stylistic/max-len': ['error', {
        // A message stays in one line, so that it can be searched for.
        code: 120, ignoreUrls: true, ignoreRegExpLiterals: true, ignorePattern: '[\'`][^\'`]{40,}[\'`]'
      }]
    }
  },
  {
    files: ['test/**', 'bench/**'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }] }
  }
]
