curl -X DELETE "$BASE_URL/apps/42" \
  -H "Authorization: Bearer $API_KEY"
