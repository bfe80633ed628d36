import sys
import requests

url = "http://localhost:3000/apps/42"
key = "apps_YOUR_KEY"
headers = {"Authorization": f"Bearer {key}"}

read = requests.get(url, headers=headers, timeout=10)
if not read.ok:
    sys.exit(read.json()["message"])

# Returns 412 if the app has changed since it was read.
headers["If-Match"] = read.headers["ETag"]
changes = {"version": "2.5.0"}
body = requests.put(
    url, headers=headers, json=changes, timeout=10
).json()
if not body["success"]:
    sys.exit(body["message"])
print(body["data"]["app"]["version"])
