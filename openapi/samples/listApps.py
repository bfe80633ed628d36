import requests

url = "http://localhost:3000/apps"
query = {"search": "tide"}

while url:
    page = requests.get(url, query, timeout=10)
    page.raise_for_status()
    for app in page.json()["data"]["apps"]:
        print(app["id"], app["name"])

    # The next page's address has the query in it.
    url = page.links.get("next", {}).get("url")
    query = None
