"""Random scripts that use the libraries bit, struct and cmsgpack."""

NUMBERS = ("0", "1", "-1", "127", "128", "-32", "-33", "255", "256", "-128", "-129", "65535",
           "65536",
           "2147483647", "2147483648", "-2147483649", "4294967295", "4294967296", "2^53", "-2^53",
           "2^62", "-2^63", "1.5", "-0.1", "1e300", "3.999", "1/0", "'7'", "'0x10'")
TEXTS = ("''", "'a'", "'abc'", r"'\0\1\255'", "string.rep('x', 31)", "string.rep('x', 32)",
         "string.rep('y', 255)", "string.rep('y', 256)", "string.rep('z', 66000)")
LEAVES = (*NUMBERS, *TEXTS, "true", "false", "nil", "print_nothing")
BIT_1 = ("tobit", "tohex", "bnot", "bswap")
BIT_2 = ("band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex")
# Writes any value as text: numbers with all digits, and tables with their keys in order.
SHOW = r"""
local function show(v)
  if type(v) == 'number' then return string.format('%.17g', v) end
  if type(v) ~= 'table' then return type(v) .. ':' .. tostring(v) end
  local parts = {}
  for key, value in pairs(v) do table.insert(parts, show(key) .. '=' .. show(value)) end
  table.sort(parts)
  return '{' .. table.concat(parts, ',') .. '}'
end
local function all(...)
  local shown = {}
  for i = 1, select('#', ...) do shown[i] = show((select(i, ...))) end
  return table.concat(shown, ' ')
end
""".replace("\n", " ")


def quoted(data):
    return "'" + "".join(f"\\{byte:03d}" for byte in data) + "'"


def bit_script(chance):
    if chance.random() < 0.3:
        return f"return all(bit.{chance.choice(BIT_1)}({chance.choice(NUMBERS)}))"
    words = ", ".join(chance.choice(NUMBERS) for _ in range(2))
    return f"return all(bit.{chance.choice(BIT_2)}({words}))"


def struct_item(chance):
    """Returns the text of an element, and a value for it or None."""
    letter = chance.choice("bBhHlLTiIfdcsx<>! !k")
    if letter in "iI!" and chance.random() < 0.7:
        return f"{letter}{chance.choice((0, 1, 2, 3, 4, 7, 8, 12, 16, 32, 33))}", (
            None if letter == "!" else chance.choice(NUMBERS[:23]))
    if letter == "c":
        return f"c{chance.choice(('', 0, 1, 3, 5))}", chance.choice(TEXTS[:6])
    if letter == "s":
        return letter, chance.choice(TEXTS[:8])
    if letter in "<>! xk":
        return letter, None
    return letter, chance.choice(NUMBERS[:24])


def struct_script(chance):
    items = [struct_item(chance) for _ in range(chance.randint(1, 6))]
    form = "".join(text for text, _ in items)
    values = "".join(f", {value}" for _, value in items if value is not None)
    kind = chance.random()
    if kind < 0.1:
        return f"return struct.size('{form}')"
    if kind < 0.4:
        data = quoted(chance.randbytes(chance.randint(0, 40)))
        # If the size is wrong and the position too, it does not matter which error comes first.
        position = 1 if "33" in form else chance.choice((1, 1, 2, 9, 0, -1))
        return f"return all(struct.unpack('{form}', {data}, {position}))"
    return (f"local packed = struct.pack('{form}'{values}) "
            f"return {{packed, all(struct.unpack('{form}', packed))}}")


def value(chance, depth=0):
    if depth > 4 or chance.random() < 0.6:
        return chance.choice(LEAVES)
    inside = [value(chance, depth + 1) for _ in range(chance.choice((0, 1, 2, 15, 16)))]
    if chance.random() < 0.5:
        return "{" + ", ".join(inside) + "}"
    # There is one key, because nothing determines the order of several.
    key = chance.choice((*NUMBERS[:20], "'key'", "'long' .. string.rep('k', 40)"))
    return "{[%s] = %s}" % (key, inside[0] if inside else "1")


def message_script(chance):
    if chance.random() < 0.5:
        values = ", ".join(value(chance) for _ in range(chance.randint(1, 3)))
        return (f"local print_nothing = function() end local packed = cmsgpack.pack({values}) "
                "return {packed, all(cmsgpack.unpack(packed))}")
    heads = bytes((0x80, 0x81, 0x91, 0x92, 0xA1, 0xC0, 0xC2, 0xCA, 0xCB, 0xCC, 0xCD, 0xCF, 0xD0,
                   0xD3, 0xD9, 0xDA, 0xDC, 0xDE, 0xE0, 1, 2))
    data = quoted(bytes(chance.choice(heads) if chance.random() < 0.6 else chance.randrange(256)
                        for _ in range(chance.randint(0, 12))))
    call = chance.choice(("unpack(%s)", "unpack_one(%s)", "unpack_one(%s, 2)", "unpack_one(%s, -1)",
                          "unpack_limit(%s, 2)", "unpack_limit(%s, 3, 1)"))
    return f"return all(cmsgpack.{call % data})"


def script(chance):
    return SHOW + chance.choice((bit_script, struct_script, message_script))(chance)
