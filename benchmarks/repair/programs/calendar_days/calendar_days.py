"""Dates of the Gregorian calendar as ``(year, month, day)``, from year 1 on."""

_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    """True if the year has a 29 February: divisible by 4, but of the hundreds only those divisible by 400."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year, month):
    """The number of days of a month."""
    return _LENGTHS[month - 1] + (month == 2 and is_leap(year))


def check(date):
    """Returns the date. ValueError "no such date: 2023-02-29" if there is none."""
    year, month, day = date
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        raise ValueError(f"no such date: {year:04}-{month:02}-{day:02}")
    return date


def to_number(date):
    """The day's number: 1 for (1, 1, 1). ValueError as in ``check``."""
    year, month, day = check(date)
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400
    for earlier in range(1, month):
        days += month_length(year, earlier)
    return days + day


def from_number(number):
    """The date of a day's number. ValueError "no such day" below 1."""
    if number < 1:
        raise ValueError("no such day")
    year = 1 + number // 366
    while to_number((year + 1, 1, 1)) <= number:
        year += 1
    month = 1
    day = number - to_number((year, 1, 1)) + 1
    while day > month_length(year, month):
        day -= month_length(year, month)
        month += 1
    return year, month, day


def weekday(date):
    """0 for Monday to 6 for Sunday."""
    return (to_number(date) - 1) % 7


def add_days(date, days):
    """The date so many days later; earlier if ``days`` is negative."""
    return from_number(to_number(date) + days)


def add_months(date, months):
    """The same day so many months later, or the last of the month if it has no such day."""
    year, month, day = check(date)
    count = 12 * year + month - 1 + months
    year, month = count // 12, count % 12 + 1
    return check((year, month, min(day, month_length(year, month))))


def nth_weekday(year, month, day_of_week, n):
    """The n-th (1, 2, ...) such weekday of a month. ValueError as in ``check`` if the month has none."""
    first = weekday((year, month, 1))
    return check((year, month, 1 + (day_of_week - first) % 7 + 7 * (n - 1)))
