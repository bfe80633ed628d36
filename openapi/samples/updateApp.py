import requests

url = "http://localhost:3000/apps/42"
key = "apps_YOUR_KEY"
headers = {"Authorization": f"Bearer {key}"}

read = requests.get(url, headers=headers, timeout=10)
read.raise_for_status()

# Refused with 412 where the app changed meanwhile.
headers["If-Match"] = read.headers["ETag"]
changes = {"version": "2.5.0"}
response = requests.put(
    url, headers=headers, json=changes, timeout=10
)
response.raise_for_status()
print(response.json()["data"]["app"]["version"])
