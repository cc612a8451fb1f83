// Describes the JSON of answers, for the OpenAPI document.
#pragma once

#include "protocol/field.h"

namespace fairlock::http {

using protocol::Field;
using protocol::FieldType;
using protocol::Schema;

// Each is defined in schema.cc.
extern const Schema kErrorSchema;
extern const Schema kStatusSchema;
extern const Schema kClusterSchema;
extern const Schema kClientsSchema;
extern const Schema kSettingsSchema;
extern const Schema kAccessSchema;
extern const Schema kLocksSchema;
extern const Schema kLockSchema;
extern const Schema kLineSchema;
extern const Schema kHistorySchema;
extern const Schema kStatisticsSchema;
extern const Schema kMinutesSchema;
extern const Schema kLimitsSchema;
extern const Schema kBrokenSchema;
extern const Schema kBrokenMatchingSchema;
extern const Schema kCancelledSchema;
extern const Schema kLimitSetSchema;
extern const Schema kDeletedSchema;
extern const Schema kKilledSchema;
extern const Schema kChangedSchema;
extern const Schema kAcquiredSchema;
extern const Schema kRenewedSchema;
extern const Schema kReleasedSchema;
extern const Schema kHeldSchema;
extern const Schema kDescriptionSchema;

}  // namespace fairlock::http
