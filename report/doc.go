// Package report holds the result of a run: what was asked for, what was sent, what arrived, and whether the numbers can
// be trusted. The types are the JSON document wirespeed.run/v1: plain numbers in the unit of the name, null where
// something is unknown with its reason in Reasons, never NaN. Values only; nothing here touches a host.
package report
