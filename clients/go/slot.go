package fairlock

import (
	"strconv"
	"strings"
)

const slotsMax = 16384

// slotOf returns the hash slot of a key, as Redis Cluster computes it: CRC-16/XMODEM of its tag.
func slotOf(key string) int {
	tag, sum := hashTag(key), uint16(0)
	for i := 0; i < len(tag); i++ {
		sum = sum<<8 ^ crcTable[byte(sum>>8)^tag[i]]
	}
	return int(sum) % slotsMax
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for bit := 0; bit < 8; bit++ {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
		table[i] = sum
	}
	return table
}()

// hashTag returns the part of a key that determines its slot: the text in its first braces if there
// is one, otherwise the whole key.
func hashTag(key string) string {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}

// tagMax keeps channel names short.
const tagMax = 100

// nameInSlot returns a channel name with the slot of a key. The prefix contains no braces.
func nameInSlot(prefix, key string) string {
	tag := hashTag(key)
	for n := 0; len(tag) > tagMax || hashTag("{"+tag+"}") != tag || slotOf(tag) != slotOf(key); n++ {
		tag = strconv.Itoa(n)
	}
	return prefix + ":{" + tag + "}"
}
