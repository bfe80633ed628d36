import sys
import requests

url = "http://localhost:3000/apps/42"
key = "apps_YOUR_KEY"
headers = {"Authorization": f"Bearer {key}"}

read = requests.get(url, headers=headers, timeout=10)
if not read.ok:
    sys.exit(read.json()["message"])

# Refused with 412 where the app changed meanwhile.
headers["If-Match"] = read.headers["ETag"]
changes = {"version": "2.5.0"}
answer = requests.put(
    url, headers=headers, json=changes, timeout=10
).json()
if not answer["success"]:
    sys.exit(answer["message"])
print(answer["data"]["app"]["version"])
