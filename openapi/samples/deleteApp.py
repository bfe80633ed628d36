import sys
import requests

key = "apps_YOUR_KEY"

response = requests.delete(
    "http://localhost:3000/apps/42",
    headers={"Authorization": f"Bearer {key}"},
    timeout=10,
)
body = response.json()
if not body["success"]:
    sys.exit(body["message"])

print(body["data"]["app_id"], body["message"])
