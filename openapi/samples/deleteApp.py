import sys
import requests

key = "apps_YOUR_KEY"

response = requests.delete(
    "http://localhost:3000/apps/42",
    headers={"Authorization": f"Bearer {key}"},
    timeout=10,
)
answer = response.json()
if not answer["success"]:
    sys.exit(answer["message"])

print(answer["data"]["app_id"], answer["message"])
