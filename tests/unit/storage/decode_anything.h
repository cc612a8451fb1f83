// What must be true for any bytes that are read as a record. The fuzz target uses this, and so does
// its short form among the unit tests.
#pragma once

#include <cassert>
#include <string>
#include <string_view>

#include "storage/records/record.h"
#include "storage/records/rows.h"
#include "storage/records/snapshot_heading.h"

namespace fairlock::storage {

template <typename Row>
void EncodesAgain(const Change& change, RecordWriter& writer) {
  Row row;
  const bool is_row = DecodeRow(change.key, change.value, row);
  assert(is_row);
  if (is_row) PutRow(writer, row);
}

// Encodes a decoded row. The result must be the same bytes, as no two encodings mean the same row.
inline void EncodeAgain(const Change& change, RecordWriter& writer) {
  if (change.is_deletion) return writer.Delete(change.kind, change.key);
  switch (change.kind) {
    case RowKind::kHold:
      return EncodesAgain<rows::Hold>(change, writer);
    case RowKind::kPlace:
      return EncodesAgain<rows::Place>(change, writer);
    case RowKind::kCooldown:
      return EncodesAgain<rows::Cooldown>(change, writer);
    case RowKind::kLimit:
      return EncodesAgain<LimitRow>(change, writer);
    case RowKind::kMeta:
      return EncodesAgain<MetaRow>(change, writer);
    case RowKind::kValue:
      return EncodesAgain<rows::Value>(change, writer);
    case RowKind::kElement:
      return EncodesAgain<rows::Element>(change, writer);
  }
}

// Returns how many changes in `content` are rows, up to the first error.
inline int DecodeContent(std::string_view content) {
  RecordWriter sealed;
  sealed.AppendRaw(content);
  // The record claims as many changes as the content has bytes, so the content always ends too
  // early.
  for (std::size_t i = 0; i < content.size(); ++i) sealed.EndChange(sealed.BeginChange(0));
  auto record =
      RecordReader::Open(sealed.Seal(RecordKind::kBatch, 7, 11), RecordKind::kBatch, 7, 11);
  assert(record.ok());
  int rows = 0;
  RecordWriter again;
  Change change;
  std::size_t read_bytes = 0;
  while (record->Next(change)) {
    if (!IsWellFormed(change)) break;
    EncodeAgain(change, again);
    const std::string_view encoded =
        std::string_view(again.BeginChange(0) - again.size(), again.size())
            .substr(kRecordHeaderBytes);
    assert(content.substr(0, encoded.size()) == encoded);
    assert(encoded.size() > read_bytes);
    read_bytes = encoded.size();
    ++rows;
  }
  return rows;
}

// Decodes the bytes as they are, without adding a checksum. They are refused, unless there is a
// collision.
inline void DecodeRaw(std::string_view bytes) {
  (void)RecordReader::Open(bytes, RecordKind::kBatch, 1, 0).ok();
  (void)DecodeHeading(bytes, 0).ok();
  if (auto record = RecordReader::OpenUnchained(bytes, RecordKind::kBatch, 1); record.ok()) {
    for (Change change; record->Next(change);) (void)IsWellFormed(change);
  }
}

}  // namespace fairlock::storage
