"""The documents of scripts/bench-codecs: the same bytes on every machine, since all of it follows from one number."""

import json
import os
import random

SEED = 20240229
WORDS = ("the quick brown fox jumps over a lazy dog while nobody in town seems to know what happened last night at the "
         "old harbour where ships from everywhere lie and wait for better weather and cheaper coffee").split()
KANA = "これはテストの文章です日本語の投稿がたくさん並んでいます今日は良い天気ですね写真を見てください"
CYRILLIC = "привет как дела сегодня хорошая погода и мы идём гулять".split()
EMOJI = ["\U0001F600", "\U0001F680", "\U0001F1EF\U0001F1F5", "❤️", "\U0001F44D\U0001F3FD"]


class Writer:
    def __init__(self):
        self.random = random.Random(SEED)

    def word(self):
        return self.random.choice(WORDS)

    def text(self, least, most):
        """A text as people write it: most of it ASCII, much of it not."""
        kind = self.random.random()
        size = self.random.randint(least, most)
        if kind < 0.45:
            text = " ".join(self.word() for _ in range(size // 5))
        elif kind < 0.85:
            text = "".join(self.random.choice(KANA) for _ in range(size // 2))
        else:
            text = " ".join(self.random.choice(CYRILLIC) for _ in range(size // 5))
        if self.random.random() < 0.25:
            text += " " + self.random.choice(EMOJI)
        if self.random.random() < 0.2:
            text = text.replace(" ", "\n", 1)
        if self.random.random() < 0.1:
            text = f"\"{text}\" \\o/"
        return text

    def number_id(self):
        return self.random.randint(10**17, 10**18)

    def url(self):
        return "http://t.co/" + "".join(self.random.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP0123456789")
                                        for _ in range(10))

    def user(self):
        number = self.random.randint(10**6, 3 * 10**9)
        name = self.word() + "_" + self.word() + str(number % 1000)
        image = f"http://pbs.twimg.com/profile_images/{self.number_id()}/{name}_normal.jpeg"
        return {
            "id": number, "id_str": str(number), "name": self.text(6, 20), "screen_name": name,
            "location": self.text(4, 20) if self.random.random() < 0.5 else "",
            "description": self.text(20, 150), "url": self.url() if self.random.random() < 0.3 else None,
            "entities": {"description": {"urls": []}}, "protected": False,
            "followers_count": self.random.randint(0, 50000), "friends_count": self.random.randint(0, 5000),
            "listed_count": self.random.randint(0, 200), "created_at": "Sun Dec 08 13:02:33 +0000 2013",
            "favourites_count": self.random.randint(0, 9000), "utc_offset": self.random.choice([None, 32400, -18000]),
            "time_zone": self.random.choice([None, "Tokyo", "Irkutsk"]), "geo_enabled": self.random.random() < 0.3,
            "verified": False, "statuses_count": self.random.randint(10, 90000), "lang": "ja",
            "contributors_enabled": False, "is_translator": False, "profile_background_color": "C0DEED",
            "profile_background_image_url": "http://abs.twimg.com/images/themes/theme1/bg.png",
            "profile_background_tile": False, "profile_image_url": image, "profile_image_url_https": image,
            "profile_link_color": "0084B4", "profile_use_background_image": True, "default_profile": True,
            "following": False, "follow_request_sent": False, "notifications": False,
        }

    def status(self, retweet=True):
        number = self.number_id()
        status = {
            "metadata": {"result_type": "recent", "iso_language_code": "ja"},
            "created_at": "Sun Aug 31 00:29:15 +0000 2014", "id": number, "id_str": str(number),
            "text": self.text(20, 140),
            "source": "<a href=\"http://twitter.com/download/iphone\" rel=\"nofollow\">Twitter for iPhone</a>",
            "truncated": False, "in_reply_to_status_id": None, "in_reply_to_status_id_str": None,
            "in_reply_to_user_id": None, "in_reply_to_screen_name": None, "user": self.user(), "geo": None,
            "coordinates": {"type": "Point", "coordinates": [round(self.random.uniform(-180, 180), 6),
                                                             round(self.random.uniform(-90, 90), 6)]}
            if self.random.random() < 0.3 else None,
            "place": None, "contributors": None, "retweet_count": self.random.randint(0, 900),
            "favorite_count": self.random.randint(0, 900), "score": self.random.uniform(0, 1),
            "entities": {
                "hashtags": [{"text": self.word(), "indices": [3 * i, 3 * i + 9]} for i in range(self.random.randint(0, 2))],
                "symbols": [],
                "urls": [{"url": self.url(), "expanded_url": self.url(), "display_url": self.url()[7:],
                          "indices": [30, 52]} for _ in range(self.random.randint(0, 2))],
                "user_mentions": [{"screen_name": self.word(), "name": self.text(6, 16), "id": number % 10**9,
                                   "id_str": str(number % 10**9), "indices": [0, 9]}
                                  for _ in range(self.random.randint(0, 2))],
            },
            "favorited": False, "retweeted": False, "lang": self.random.choice(["ja", "en", "ru"]),
        }
        if retweet and self.random.random() < 0.4:
            status["retweeted_status"] = self.status(retweet=False)
        return status


def twitter(size, indent=None):
    """A search result of at least `size` bytes. Every tenth status has all but ASCII written as \\u escapes, and slashes
    as `\\/`: some programs do that."""
    writer = Writer()
    separators = (",", ":") if indent is None else (",", ": ")
    statuses, length = [], 0
    while length < size:
        number = len(statuses)
        text = json.dumps(writer.status(), ensure_ascii=number % 10 == 9, separators=separators, indent=indent)
        if number % 10 == 9:
            text = text.replace("/", "\\/")
        statuses.append(text)
        length += len(text.encode())
    tail = json.dumps({"completed_in": 0.087, "count": len(statuses), "query": "%E4%B8%80", "since_id": 0},
                      separators=separators)
    return ('{"statuses":[' + ",".join(statuses) + '],"search_metadata":' + tail + "}").encode()


SAFE = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-._")


def quote(text):
    return "".join(chr(byte) if byte in SAFE else "+" if byte == 32 else f"%{byte:02X}" for byte in text.encode())


def form(count, brackets="[]"):
    """A form of `count` fields as a shop's page or a library sends them: orders with addresses and items, names like
    `orders[3][items][1][note]`, values of 20 to 200 bytes as they are sent: words with `+` between them, some
    punctuation and some letters as %XX. The brackets of names are bare, or `%5B%5D` as browsers send them."""
    writer = Writer()
    random_ = writer.random
    pairs, order = [], 0
    letters = "äöüßéèñçøå"

    def value(least=20, most=200):
        wanted, text = random_.randint(least, most), ""
        while len(quote(text)) < wanted:
            word = writer.word()
            if random_.random() < 0.08:
                word += random_.choice(letters)
            if random_.random() < 0.06:
                word += random_.choice([",", "&", "/", "?"])
            text += (" " if text else "") + word
        return quote(text)

    def plain(least=20, most=60):
        return "".join(random_.choice("abcdefghijklmnopqrstuvwxyz0123456789-._")
                       for _ in range(random_.randint(least, most)))

    while len(pairs) < count:
        root = f"orders[{order}]"
        pairs += [(root + "[id]", plain()), (root + "[customer][name]", value(20, 40)),
                  (root + "[customer][email]", plain(20, 30) + "%40example.com"),
                  (root + "[customer][address][street]", value(20, 60)),
                  (root + "[customer][address][city]", value(20, 30)), (root + "[note]", value(60, 200))]
        for item in range(random_.randint(1, 4)):
            pairs += [(f"{root}[items][{item}][sku]", plain()), (f"{root}[items][{item}][title]", value(20, 120)),
                      (f"{root}[items][{item}][note]", value())]
        pairs += [(root + "[tags][]", value(20, 40)) for _ in range(random_.randint(0, 3))]
        order += 1
    names = {ord("["): brackets[:len(brackets) // 2], ord("]"): brackets[len(brackets) // 2:]}
    return "&".join(name.translate(names) + "=" + text for name, text in pairs[:count]).encode()


def make(folder):
    """Writes the documents into `folder` and returns their sizes."""
    documents = {
        "twitter.json": twitter(1 << 20), "twitter-indented.json": twitter(1 << 20, indent=2), "form.txt": form(1000),
        "form-escaped.txt": form(1000, brackets="%5B%5D"),
    }
    os.makedirs(folder, exist_ok=True)
    for name, content in documents.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    return {name: len(content) for name, content in documents.items()}
