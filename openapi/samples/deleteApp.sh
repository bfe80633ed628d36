curl -X DELETE "http://localhost:3000/apps/42" \
  -H "Authorization: Bearer apps_YOUR_KEY"
