//! The style of the API, held over its descriptors.

use judge_cascade::rpc::pb::FILE_DESCRIPTOR_SET;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

const PACKAGE: &str = "judgecascade.v1";

fn files() -> Vec<FileDescriptorProto> {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let files: Vec<_> = set
        .file
        .into_iter()
        .filter(|file| file.package() == PACKAGE)
        .collect();
    assert_eq!(files.len(), 4);
    files
}

fn upper_snake(name: &str) -> String {
    let mut result = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !result.is_empty() {
            result.push('_');
        }
        result.push(c.to_ascii_uppercase());
    }
    result
}

#[test]
fn files_lie_in_the_folder_of_their_package_with_a_version() {
    assert!(PACKAGE.ends_with(".v1"));
    for file in files() {
        assert!(
            file.name().starts_with("judgecascade/v1/"),
            "{}",
            file.name()
        );
        assert_eq!(file.syntax(), "proto3");
    }
}

#[test]
fn services_and_their_messages_are_named_after_their_methods() {
    let mut used = Vec::new();
    for service in files().iter().flat_map(|file| &file.service) {
        assert!(service.name().ends_with("Service"), "{}", service.name());
        for method in &service.method {
            let package = format!(".{PACKAGE}.");
            assert_eq!(
                method.input_type(),
                format!("{package}{}Request", method.name())
            );
            assert_eq!(
                method.output_type(),
                format!("{package}{}Response", method.name())
            );
            assert!(
                method
                    .options
                    .as_ref()
                    .is_some_and(|options| options.idempotency_level.is_some())
            );
            used.push(method.input_type().to_owned());
        }
    }
    assert_eq!(used.len(), 2);
}

#[test]
fn enum_values_carry_the_name_of_their_enum_and_zero_is_unspecified() {
    let mut count = 0;
    for enumeration in files().iter().flat_map(|file| &file.enum_type) {
        let prefix = upper_snake(enumeration.name());
        for value in &enumeration.value {
            assert!(
                value.name().starts_with(&format!("{prefix}_")),
                "{}",
                value.name()
            );
        }
        let zero = enumeration
            .value
            .iter()
            .find(|value| value.number() == 0)
            .unwrap();
        assert_eq!(zero.name(), format!("{prefix}_UNSPECIFIED"));
        let numbers: Vec<_> = enumeration
            .value
            .iter()
            .map(prost_types::EnumValueDescriptorProto::number)
            .collect();
        assert!(numbers.is_sorted(), "{}", enumeration.name());
        count += 1;
    }
    assert!(count > 20);
}

#[test]
fn enums_stand_last_and_at_the_top_level() {
    for file in files() {
        for message in &file.message_type {
            assert!(message.enum_type.is_empty(), "{}", message.name());
            assert!(message.nested_type.is_empty(), "{}", message.name());
        }
    }
}

#[test]
fn quantities_carry_their_unit() {
    for message in files().iter().flat_map(|file| &file.message_type) {
        for field in &message.field {
            let name = field.name();
            assert!(
                !name.ends_with("_ms") && !name.ends_with("_usd_micros"),
                "{name}"
            );
            if name.contains("usd") {
                assert!(name.ends_with("_nano_usd"), "{name}");
                assert_eq!(
                    field.r#type(),
                    prost_types::field_descriptor_proto::Type::Int64
                );
                assert!(
                    field.proto3_optional(),
                    "{name}: an unknown cost must be absent"
                );
            }
            if name.contains("token_count") {
                assert!(
                    field.proto3_optional(),
                    "{name}: an unknown count must be absent"
                );
            }
        }
    }
}

/// Every message, field, service, method, enum and value has a comment that is a sentence.
#[test]
fn every_element_has_a_comment() {
    let mut count = 0;
    for file in files() {
        let info = file.source_code_info.clone().unwrap();
        let commented = |path: &[i32]| {
            info.location.iter().any(|location| {
                location.path == path && location.leading_comments().trim().ends_with(['.', '?'])
            })
        };
        let mut check = |path: &[i32], name: &str| {
            assert!(
                commented(path),
                "{}: `{name}` has no comment that is a sentence",
                file.name()
            );
            count += 1;
        };
        for (m, message) in (0..).zip(&file.message_type) {
            check(&[4, m], message.name());
            for (f, field) in (0..).zip(&message.field) {
                check(
                    &[4, m, 2, f],
                    &format!("{}.{}", message.name(), field.name()),
                );
            }
        }
        for (e, enumeration) in (0..).zip(&file.enum_type) {
            check(&[5, e], enumeration.name());
            for (v, value) in (0..).zip(&enumeration.value) {
                check(&[5, e, 2, v], value.name());
            }
        }
        for (s, service) in (0..).zip(&file.service) {
            check(&[6, s], service.name());
            for (m, method) in (0..).zip(&service.method) {
                check(&[6, s, 2, m], method.name());
            }
        }
    }
    assert!(count > 250, "looked at {count} elements only");
}
