export default {
  apps: {
    input: 'openapi.json',
    output: {
      target: 'apps-api.ts',
      client: 'fetch',
      headers: true,
      baseUrl: { runtime: 'process.env.APPS_URL' },
    },
  },
}
