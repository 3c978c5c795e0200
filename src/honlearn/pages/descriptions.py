"""Descriptions of data sets for the generated pages.

In: the name of a data set, as its folder of runs is called. Out: the text below its heading.
"""

from __future__ import annotations

DESCRIPTIONS = {
    "wiki": "Wikispeedia: clicks of players between 4,179 articles, 10 subjects. The paper's own graphs.",
    "air": "The paper's Air, of which only the first-order network is published: 416 places, 10 federal "
    "regions.",
    "us_flights": "The bundled flights: itineraries between 175 airports, 11 federal regions.",
    "us_flights_searched": "The same flights, with settings that were searched inside each training part.",
    "db1b_2018q1": "DB1B, a 5 % sample of the first quarter of 2018: 382 airports, 11 federal regions.",
    "ud_english_ewt": "English sentences as paths of 2,930 words, 9 parts of speech; low homophily.",
    "eshop_clothing": "Clicks in a web shop, 217 products, 4 categories: no memory in these paths, so this "
    "is the negative control. A gain of the higher-order network here would be a warning.",
}
