//! What a federate calls, and what it is answered with: the table of the 178 calls.
//!
//! A row has the number of the request, the number of the response, the name, and the fields of both.

#![expect(missing_docs, reason = "what each service does, and its fields, stand in the standard")]

use crate::table::calls;

calls! {
    // Federation management.
    1, 2 Connect {} -> { 1 configuration_result: ConfigurationResult }
    2, 3 ConnectWithCredentials {
        1 credentials: Credentials,
    } -> { 1 configuration_result: ConfigurationResult }
    3, 4 ConnectWithConfiguration {
        1 rti_configuration: RtiConfiguration,
    } -> { 1 configuration_result: ConfigurationResult }
    4, 5 ConnectWithConfigurationAndCredentials {
        1 rti_configuration: RtiConfiguration, 2 credentials: Credentials,
    } -> { 1 configuration_result: ConfigurationResult }
    5, 6 Disconnect {} -> {}
    6, 7 CreateFederationExecution { 1 federation_name: string, 2 fom_module: FomModule } -> {}
    7, 8 CreateFederationExecutionWithTime {
        1 federation_name: string, 2 fom_module: FomModule, 3 logical_time_implementation_name: string,
    } -> {}
    8, 9 CreateFederationExecutionWithModules { 1 federation_name: string, 2 fom_modules: FomModuleSet } -> {}
    9, 10 CreateFederationExecutionWithModulesAndTime {
        1 federation_name: string, 2 fom_modules: FomModuleSet, 3 logical_time_implementation_name: string,
    } -> {}
    10, 11 CreateFederationExecutionWithMIM {
        1 federation_name: string, 2 fom_modules: FomModuleSet, 3 mim_module: FomModule,
    } -> {}
    11, 12 CreateFederationExecutionWithMIMAndTime {
        1 federation_name: string, 2 fom_modules: FomModuleSet, 3 mim_module: FomModule,
        4 logical_time_implementation_name: string,
    } -> {}
    12, 13 DestroyFederationExecution { 1 federation_name: string } -> {}
    13, 14 ListFederationExecutions {} -> {}
    14, 15 ListFederationExecutionMembers { 1 federation_name: string } -> {}
    15, 16 JoinFederationExecution {
        1 federate_type: string, 2 federation_name: string,
    } -> { 1 result: JoinResult }
    16, 17 JoinFederationExecutionWithModules {
        1 federate_type: string, 2 federation_name: string, 3 additional_fom_modules: FomModuleSet,
    } -> { 1 result: JoinResult }
    17, 18 JoinFederationExecutionWithName {
        1 federate_name: string, 2 federate_type: string, 3 federation_name: string,
    } -> { 1 result: JoinResult }
    18, 19 JoinFederationExecutionWithNameAndModules {
        1 federate_name: string, 2 federate_type: string, 3 federation_name: string,
        4 additional_fom_modules: FomModuleSet,
    } -> { 1 result: JoinResult }
    19, 20 ResignFederationExecution { 1 resign_action: (ResignAction) } -> {}
    20, 21 RegisterFederationSynchronizationPoint {
        1 synchronization_point_label: string, 2 user_supplied_tag: bytes,
    } -> {}
    21, 22 RegisterFederationSynchronizationPointWithSet {
        1 synchronization_point_label: string, 2 user_supplied_tag: bytes,
        3 synchronization_set: FederateHandleSet,
    } -> {}
    22, 23 SynchronizationPointAchieved { 1 synchronization_point_label: string, 2 successfully: bool } -> {}
    23, 24 RequestFederationSave { 1 label: string } -> {}
    24, 25 RequestFederationSaveWithTime { 1 label: string, 2 time: LogicalTime } -> {}
    25, 26 FederateSaveBegun {} -> {}
    26, 27 FederateSaveComplete {} -> {}
    27, 28 FederateSaveNotComplete {} -> {}
    28, 29 AbortFederationSave {} -> {}
    29, 30 QueryFederationSaveStatus {} -> {}
    30, 31 RequestFederationRestore { 1 label: string } -> {}
    31, 32 FederateRestoreComplete {} -> {}
    32, 33 FederateRestoreNotComplete {} -> {}
    33, 34 AbortFederationRestore {} -> {}
    34, 35 QueryFederationRestoreStatus {} -> {}
    // Declaration management.
    35, 36 PublishObjectClassAttributes {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    36, 37 UnpublishObjectClass { 1 object_class: ObjectClassHandle } -> {}
    37, 38 UnpublishObjectClassAttributes {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    38, 39 PublishInteractionClass { 1 interaction_class: InteractionClassHandle } -> {}
    39, 40 UnpublishInteractionClass { 1 interaction_class: InteractionClassHandle } -> {}
    40, 41 PublishObjectClassDirectedInteractions {
        1 object_class: ObjectClassHandle, 2 interaction_classes: InteractionClassHandleSet,
    } -> {}
    41, 42 UnpublishObjectClassDirectedInteractions { 1 object_class: ObjectClassHandle } -> {}
    42, 43 UnpublishObjectClassDirectedInteractionsWithSet {
        1 object_class: ObjectClassHandle, 2 interaction_classes: InteractionClassHandleSet,
    } -> {}
    43, 44 SubscribeObjectClassAttributes {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    44, 45 SubscribeObjectClassAttributesWithRate {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
        3 update_rate_designator: string,
    } -> {}
    45, 46 SubscribeObjectClassAttributesPassively {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    46, 47 SubscribeObjectClassAttributesPassivelyWithRate {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
        3 update_rate_designator: string,
    } -> {}
    47, 48 UnsubscribeObjectClass { 1 object_class: ObjectClassHandle } -> {}
    48, 49 UnsubscribeObjectClassAttributes {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    49, 50 SubscribeInteractionClass { 1 interaction_class: InteractionClassHandle } -> {}
    50, 51 SubscribeInteractionClassPassively { 1 interaction_class: InteractionClassHandle } -> {}
    51, 52 UnsubscribeInteractionClass { 1 interaction_class: InteractionClassHandle } -> {}
    52, 53 SubscribeObjectClassDirectedInteractions {
        1 object_class: ObjectClassHandle, 2 interaction_classes: InteractionClassHandleSet,
    } -> {}
    53, 54 SubscribeObjectClassDirectedInteractionsUniversally {
        1 object_class: ObjectClassHandle, 2 interaction_classes: InteractionClassHandleSet,
    } -> {}
    54, 55 UnsubscribeObjectClassDirectedInteractions { 1 object_class: ObjectClassHandle } -> {}
    55, 56 UnsubscribeObjectClassDirectedInteractionsWithSet {
        1 object_class: ObjectClassHandle, 2 interaction_classes: InteractionClassHandleSet,
    } -> {}
    // Object management.
    56, 57 ReserveObjectInstanceName { 1 object_instance_name: string } -> {}
    57, 58 ReleaseObjectInstanceName { 1 object_instance_name: string } -> {}
    58, 59 ReserveMultipleObjectInstanceNames { 1 object_instance_names: [string] } -> {}
    59, 60 ReleaseMultipleObjectInstanceNames { 1 object_instance_names: [string] } -> {}
    60, 61 RegisterObjectInstance { 1 object_class: ObjectClassHandle } -> { 1 result: ObjectInstanceHandle }
    61, 62 RegisterObjectInstanceWithName {
        1 object_class: ObjectClassHandle, 2 object_instance_name: string,
    } -> { 1 result: ObjectInstanceHandle }
    62, 63 UpdateAttributeValues {
        1 object_instance: ObjectInstanceHandle, 2 attribute_values: AttributeHandleValueMap,
        3 user_supplied_tag: bytes,
    } -> {}
    63, 64 UpdateAttributeValuesWithTime {
        1 object_instance: ObjectInstanceHandle, 2 attribute_values: AttributeHandleValueMap,
        3 user_supplied_tag: bytes, 4 time: LogicalTime,
    } -> { 1 result: MessageRetractionReturn }
    64, 65 SendInteraction {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 user_supplied_tag: bytes,
    } -> {}
    65, 66 SendInteractionWithTime {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 user_supplied_tag: bytes, 4 time: LogicalTime,
    } -> { 1 result: MessageRetractionReturn }
    66, 67 SendDirectedInteraction {
        1 interaction_class: InteractionClassHandle, 2 object_instance: ObjectInstanceHandle,
        3 parameter_values: ParameterHandleValueMap, 4 user_supplied_tag: bytes,
    } -> {}
    67, 68 SendDirectedInteractionWithTime {
        1 interaction_class: InteractionClassHandle, 2 object_instance: ObjectInstanceHandle,
        3 parameter_values: ParameterHandleValueMap, 4 user_supplied_tag: bytes, 5 time: LogicalTime,
    } -> { 1 result: MessageRetractionReturn }
    68, 69 DeleteObjectInstance { 1 object_instance: ObjectInstanceHandle, 2 user_supplied_tag: bytes } -> {}
    69, 70 DeleteObjectInstanceWithTime {
        1 object_instance: ObjectInstanceHandle, 2 user_supplied_tag: bytes, 3 time: LogicalTime,
    } -> { 1 result: MessageRetractionReturn }
    70, 71 LocalDeleteObjectInstance { 1 object_instance: ObjectInstanceHandle } -> {}
    71, 72 RequestInstanceAttributeValueUpdate {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    72, 73 RequestClassAttributeValueUpdate {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet, 3 user_supplied_tag: bytes,
    } -> {}
    73, 74 RequestAttributeTransportationTypeChange {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 transportation_type: TransportationTypeHandle,
    } -> {}
    74, 75 ChangeDefaultAttributeTransportationType {
        1 object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet,
        3 transportation_type: TransportationTypeHandle,
    } -> {}
    75, 76 QueryAttributeTransportationType {
        1 object_instance: ObjectInstanceHandle, 2 attribute: AttributeHandle,
    } -> {}
    76, 77 RequestInteractionTransportationTypeChange {
        1 interaction_class: InteractionClassHandle, 2 transportation_type: TransportationTypeHandle,
    } -> {}
    77, 78 QueryInteractionTransportationType {
        1 federate: FederateHandle, 2 interaction_class: InteractionClassHandle,
    } -> {}
    // Ownership management.
    78, 79 UnconditionalAttributeOwnershipDivestiture {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    79, 80 NegotiatedAttributeOwnershipDivestiture {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    80, 81 ConfirmDivestiture {
        1 object_instance: ObjectInstanceHandle, 2 confirmed_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    81, 82 AttributeOwnershipAcquisition {
        1 object_instance: ObjectInstanceHandle, 2 desired_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    82, 83 AttributeOwnershipAcquisitionIfAvailable {
        1 object_instance: ObjectInstanceHandle, 2 desired_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    83, 84 AttributeOwnershipReleaseDenied {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> {}
    84, 85 AttributeOwnershipDivestitureIfWanted {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    } -> { 1 result: AttributeHandleSet }
    85, 86 CancelNegotiatedAttributeOwnershipDivestiture {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    86, 87 CancelAttributeOwnershipAcquisition {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    87, 88 QueryAttributeOwnership {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    } -> {}
    88, 89 IsAttributeOwnedByFederate {
        1 object_instance: ObjectInstanceHandle, 2 attribute: AttributeHandle,
    } -> { 1 result: bool }
    // Time management.
    89, 90 EnableTimeRegulation { 1 lookahead: LogicalTimeInterval } -> {}
    90, 91 DisableTimeRegulation {} -> {}
    91, 92 EnableTimeConstrained {} -> {}
    92, 93 DisableTimeConstrained {} -> {}
    93, 94 TimeAdvanceRequest { 1 time: LogicalTime } -> {}
    94, 95 TimeAdvanceRequestAvailable { 1 time: LogicalTime } -> {}
    95, 96 NextMessageRequest { 1 time: LogicalTime } -> {}
    96, 97 NextMessageRequestAvailable { 1 time: LogicalTime } -> {}
    97, 98 FlushQueueRequest { 1 time: LogicalTime } -> {}
    98, 99 EnableAsynchronousDelivery {} -> {}
    99, 100 DisableAsynchronousDelivery {} -> {}
    100, 101 QueryGALT {} -> { 1 result: TimeQueryReturn }
    101, 102 QueryLogicalTime {} -> { 1 result: LogicalTime }
    102, 103 QueryLITS {} -> { 1 result: TimeQueryReturn }
    103, 104 ModifyLookahead { 1 lookahead: LogicalTimeInterval } -> {}
    104, 105 QueryLookahead {} -> { 1 result: LogicalTimeInterval }
    105, 106 Retract { 1 retraction: MessageRetractionHandle } -> {}
    106, 107 ChangeAttributeOrderType {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet, 3 order_type: (OrderType),
    } -> {}
    107, 108 ChangeDefaultAttributeOrderType {
        1 the_object_class: ObjectClassHandle, 2 attributes: AttributeHandleSet, 3 order_type: (OrderType),
    } -> {}
    108, 109 ChangeInteractionOrderType {
        1 interaction_class: InteractionClassHandle, 2 order_type: (OrderType),
    } -> {}
    // Data distribution management.
    109, 110 CreateRegion { 1 dimensions: DimensionHandleSet } -> { 1 result: RegionHandle }
    110, 111 CommitRegionModifications { 1 regions: RegionHandleSet } -> {}
    111, 112 DeleteRegion { 1 region: RegionHandle } -> {}
    112, 113 RegisterObjectInstanceWithRegions {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
    } -> { 1 result: ObjectInstanceHandle }
    113, 114 RegisterObjectInstanceWithNameAndRegions {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
        3 object_instance_name: string,
    } -> { 1 result: ObjectInstanceHandle }
    114, 115 AssociateRegionsForUpdates {
        1 object_instance: ObjectInstanceHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
    } -> {}
    115, 116 UnassociateRegionsForUpdates {
        1 object_instance: ObjectInstanceHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
    } -> {}
    116, 117 SubscribeObjectClassAttributesWithRegions {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
        3 active: bool,
    } -> {}
    117, 118 SubscribeObjectClassAttributesWithRegionsAndRate {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
        3 active: bool, 4 update_rate_designator: string,
    } -> {}
    118, 119 UnsubscribeObjectClassAttributesWithRegions {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
    } -> {}
    119, 120 SubscribeInteractionClassWithRegions {
        1 interaction_class: InteractionClassHandle, 2 active: bool, 3 regions: RegionHandleSet,
    } -> {}
    120, 121 UnsubscribeInteractionClassWithRegions {
        1 interaction_class: InteractionClassHandle, 2 regions: RegionHandleSet,
    } -> {}
    121, 122 SendInteractionWithRegions {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 regions: RegionHandleSet, 4 user_supplied_tag: bytes,
    } -> {}
    122, 123 SendInteractionWithRegionsAndTime {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 regions: RegionHandleSet, 4 user_supplied_tag: bytes, 5 time: LogicalTime,
    } -> { 1 result: MessageRetractionReturn }
    123, 124 RequestAttributeValueUpdateWithRegions {
        1 object_class: ObjectClassHandle, 2 attributes_and_regions: AttributeSetRegionSetPairList,
        3 user_supplied_tag: bytes,
    } -> {}
    // Support services.
    124, 125 GetFederateHandle { 1 federate_name: string } -> { 1 result: FederateHandle }
    125, 126 GetFederateName { 1 federate: FederateHandle } -> { 1 result: string }
    126, 127 GetObjectClassHandle { 1 object_class_name: string } -> { 1 result: ObjectClassHandle }
    127, 128 GetObjectClassName { 1 object_class: ObjectClassHandle } -> { 1 result: string }
    128, 129 GetKnownObjectClassHandle {
        1 object_instance: ObjectInstanceHandle,
    } -> { 1 result: ObjectClassHandle }
    129, 130 GetObjectInstanceHandle { 1 object_instance_name: string } -> { 1 result: ObjectInstanceHandle }
    130, 131 GetObjectInstanceName { 1 object_instance: ObjectInstanceHandle } -> { 1 result: string }
    131, 132 GetAttributeHandle {
        1 object_class: ObjectClassHandle, 2 attribute_name: string,
    } -> { 1 result: AttributeHandle }
    132, 133 GetAttributeName {
        1 object_class: ObjectClassHandle, 2 attribute: AttributeHandle,
    } -> { 1 result: string }
    133, 134 GetUpdateRateValue { 1 update_rate_designator: string } -> { 1 result: double }
    134, 135 GetUpdateRateValueForAttribute {
        1 object_instance: ObjectInstanceHandle, 2 attribute: AttributeHandle,
    } -> { 1 result: double }
    135, 136 GetInteractionClassHandle {
        1 interaction_class_name: string,
    } -> { 1 result: InteractionClassHandle }
    136, 137 GetInteractionClassName { 1 interaction_class: InteractionClassHandle } -> { 1 result: string }
    137, 138 GetParameterHandle {
        1 interaction_class: InteractionClassHandle, 2 parameter_name: string,
    } -> { 1 result: ParameterHandle }
    138, 139 GetParameterName {
        1 interaction_class: InteractionClassHandle, 2 parameter: ParameterHandle,
    } -> { 1 result: string }
    139, 140 GetOrderType { 1 order_type_name: string } -> { 1 result: (OrderType) }
    140, 141 GetOrderName { 1 order_type: (OrderType) } -> { 1 result: string }
    141, 142 GetTransportationTypeHandle {
        1 transportation_type_name: string,
    } -> { 1 result: TransportationTypeHandle }
    142, 143 GetTransportationTypeName {
        1 transportation_type: TransportationTypeHandle,
    } -> { 1 result: string }
    143, 144 GetAvailableDimensionsForObjectClass {
        1 object_class: ObjectClassHandle,
    } -> { 1 result: DimensionHandleSet }
    144, 145 GetAvailableDimensionsForInteractionClass {
        1 interaction_class: InteractionClassHandle,
    } -> { 1 result: DimensionHandleSet }
    145, 146 GetDimensionHandle { 1 dimension_name: string } -> { 1 result: DimensionHandle }
    146, 147 GetDimensionName { 1 dimension: DimensionHandle } -> { 1 result: string }
    147, 148 GetDimensionUpperBound { 1 dimension: DimensionHandle } -> { 1 result: uint32 }
    148, 149 GetDimensionHandleSet { 1 region: RegionHandle } -> { 1 result: DimensionHandleSet }
    149, 150 GetRangeBounds {
        1 region: RegionHandle, 2 dimension: DimensionHandle,
    } -> { 1 result: RangeBounds }
    150, 151 SetRangeBounds {
        1 region: RegionHandle, 2 dimension: DimensionHandle, 3 range_bounds: RangeBounds,
    } -> {}
    151, 152 NormalizeServiceGroup { 1 service_group: (ServiceGroup) } -> { 1 result: uint32 }
    152, 153 NormalizeFederateHandle { 1 federate: FederateHandle } -> { 1 result: uint32 }
    153, 154 NormalizeObjectClassHandle { 1 object_class: ObjectClassHandle } -> { 1 result: uint32 }
    154, 155 NormalizeInteractionClassHandle {
        1 interaction_class: InteractionClassHandle,
    } -> { 1 result: uint32 }
    155, 156 NormalizeObjectInstanceHandle { 1 object_instance: ObjectInstanceHandle } -> { 1 result: uint32 }
    156, 157 GetObjectClassRelevanceAdvisorySwitch {} -> { 1 result: bool }
    157, 158 SetObjectClassRelevanceAdvisorySwitch { 1 value: bool } -> {}
    158, 159 GetAttributeRelevanceAdvisorySwitch {} -> { 1 result: bool }
    159, 160 SetAttributeRelevanceAdvisorySwitch { 1 value: bool } -> {}
    160, 161 GetAttributeScopeAdvisorySwitch {} -> { 1 result: bool }
    161, 162 SetAttributeScopeAdvisorySwitch { 1 value: bool } -> {}
    162, 163 GetInteractionRelevanceAdvisorySwitch {} -> { 1 result: bool }
    163, 164 SetInteractionRelevanceAdvisorySwitch { 1 value: bool } -> {}
    164, 165 GetConveyRegionDesignatorSetsSwitch {} -> { 1 result: bool }
    165, 166 SetConveyRegionDesignatorSetsSwitch { 1 value: bool } -> {}
    166, 167 GetAutomaticResignDirective {} -> { 1 result: (ResignAction) }
    167, 168 SetAutomaticResignDirective { 1 value: (ResignAction) } -> {}
    168, 169 GetServiceReportingSwitch {} -> { 1 result: bool }
    169, 170 SetServiceReportingSwitch { 1 value: bool } -> {}
    170, 171 GetExceptionReportingSwitch {} -> { 1 result: bool }
    171, 172 SetExceptionReportingSwitch { 1 value: bool } -> {}
    172, 173 GetSendServiceReportsToFileSwitch {} -> { 1 result: bool }
    173, 174 SetSendServiceReportsToFileSwitch { 1 value: bool } -> {}
    174, 175 GetAutoProvideSwitch {} -> { 1 result: bool }
    175, 176 GetDelaySubscriptionEvaluationSwitch {} -> { 1 result: bool }
    176, 177 GetAdvisoriesUseKnownClassSwitch {} -> { 1 result: bool }
    177, 178 GetAllowRelaxedDDMSwitch {} -> { 1 result: bool }
    178, 179 GetNonRegulatedGrantSwitch {} -> { 1 result: bool }
}

impl Call {
    /// Whether the call only sends a message to others: an update or an interaction. These come most often.
    pub fn is_sending(&self) -> bool {
        matches!(
            self,
            Self::UpdateAttributeValues(_)
                | Self::UpdateAttributeValuesWithTime(_)
                | Self::SendInteraction(_)
                | Self::SendInteractionWithTime(_)
                | Self::SendDirectedInteraction(_)
                | Self::SendDirectedInteractionWithTime(_)
        )
    }
}
